prepare tell_events_1 as
select id::text as "id" from "notification_due" where id <> all($1::bigint[]) order by "notification_due"."id" limit $2;

prepare tell_events_2 as
delete from notification_due
 where id = (select id from notification_due where id = $1::bigint for update skip locked)
returning event, event_key as "key", workspace_id as "workspaceId", user_id as "userId", fields;

prepare tell_events_3 as
select "u"."id", "u"."email" as "address", "u"."email_verified_at", "p"."in_app", "p"."email", "u"."locale",
  "u"."time_zone" as "timeZone"
  from "membership" as "m" inner join "app_user" as "u" on "u"."id" = "m"."user_id" left join "notification_preference" as "p" on "p"."user_id" = "u"."id"
  and "p"."event" = $1 where "m"."workspace_id" = $2 and "m"."role" in ($3, $4, $5) and "u"."disabled_at" is null
  and "u"."erased_at" is null;

prepare tell_events_4 as
insert into "notification" ("user_id", "workspace_id", "type", "event_key", "title", "body", "data") values ($1, $2, $3,
  $4, $5, $6, $7) on conflict ("user_id", "workspace_id", "type", "event_key") do nothing returning "id";
