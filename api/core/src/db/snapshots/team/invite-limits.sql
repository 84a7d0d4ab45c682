prepare invite_limits_1 as
select pg_advisory_xact_lock(hashtextextended($1, 0));

prepare invite_limits_2 as
delete from "team_invite" where "workspace_id" = $1 and expires_at < now() - $2 * interval '1 day';

prepare invite_limits_3 as
with recent as (
  select workspace_id, invited_by
    from team_invite
   where created_at > now() - interval '24 hours'
     and (workspace_id = $1 or invited_by = $2)
)
select count(*) filter (where invited_by = $3) as inviter,
       count(*) filter (where workspace_id = $4) as team,
       (select count(*) from team_invite
         where workspace_id = $5 and ended_at is null and expires_at > now()
           and email_key is distinct from $6) as open
  from recent;
