prepare create_team_1 as
select pg_advisory_xact_lock(hashtextextended($1, 0));

prepare create_team_2 as
select count(*) as "owned" from "membership" as "s" inner join "workspace" as "w" on "w"."id" = "s"."workspace_id"
  where "s"."user_id" = $1 and "s"."role" = $2 and "w"."personal_of" is null;

prepare create_team_3 as
select count(*) as made,
       extract(epoch from min(created_at) + interval '24 hours' - now())::float8 as "retryAfterSeconds"
  from workspace where created_by = $1 and created_at > now() - interval '24 hours';

prepare create_team_4 as
insert into "workspace" ("name", "kind", "plan", "created_by") values ($1, $2, $3, $4) returning "id";

prepare create_team_5 as
insert into "membership" ("workspace_id", "user_id", "role") values ($1, $2, $3);

prepare create_team_6 as
insert into "audit_entry" ("workspace_id", "user_id", "action", "target", "ip_address", "request_id") values ($1, $2,
  $3, $4, $5, $6);
