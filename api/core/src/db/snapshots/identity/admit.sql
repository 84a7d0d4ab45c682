prepare admit_1 as
with person as materialized ((select "u"."id", "u"."email", "u"."name", "u"."locale", "u"."time_zone" as "timeZone",
  "u"."avatar_url" as "avatarUrl", "u"."created_at" as "createdAt", u.email_verified_at is not null as "emailVerified",
  t.user_id is not null as "mfaEnabled" from "app_user" as "u" left join "two_factor" as "t" on "t"."user_id" = "u"."id"
  and "t"."enabled_at" is not null where "u"."id" = $1 and "u"."erased_at" is null and "u"."password_hash" = $2
  and "u"."disabled_at" is null and "u"."email_verified_at" is not null and "t"."user_id" is null for share of "u")),
  chosen as materialized (
  select p.id as user_id, w.id as workspace_id, m.role
    from person p
    join workspace w on w.personal_of = p.id
    join membership m on m.user_id = p.id and m.workspace_id = w.id
), pair as (
  delete from login_failure
   where account = $3 and network = $4 and exists (select from chosen) returning 1
), gone as materialized (select count(*) from pair
), forgotten as (
  update login_failure set failures = greatest(failures - 1, 0) from gone
   where account = $5 and network = '' and exists (select from chosen)
), started as (
  insert into session (user_id, workspace_id, ip_address, user_agent, expires_at)
  select user_id, workspace_id, $6::inet, $7,
         now() + $8 * interval '1 day'
    from chosen
  returning id, user_id, workspace_id
), first_token as (
  insert into refresh_token (hash, session_id) select $9::bytea, id from started
), event as (
  insert into login_event (user_id, success, method, ip_address, user_agent)
  select user_id, true, $10, $11::inet, $12 from started
)
select p.*, s.id as "sessionId", s.user_id as "userId", s.workspace_id as "workspaceId", c.role,
  set_config('synchronous_commit', 'off', true) as commit from person p, chosen c, started s;

prepare admit_2 as
select "u"."id", "u"."email", "u"."name", "u"."locale", "u"."time_zone" as "timeZone", "u"."avatar_url" as "avatarUrl",
  "u"."created_at" as "createdAt", u.email_verified_at is not null as "emailVerified",
  t.user_id is not null as "mfaEnabled", "u"."disabled_at"
  from "app_user" as "u" left join "two_factor" as "t" on "t"."user_id" = "u"."id" and "t"."enabled_at" is not null
  where "u"."id" = $1 and "u"."erased_at" is null and "u"."password_hash" = $2 for share of "u";

prepare admit_3 as
insert into "login_event" ("user_id", "success", "method", "ip_address", "user_agent", "failure_reason") values ($1, $2,
  $3, $4, $5, $6) returning "id";
