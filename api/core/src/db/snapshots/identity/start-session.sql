prepare start_session as
with chosen as (
  select u.id as user_id, w.id as workspace_id, m.role
    from app_user u
    join membership m on m.user_id = u.id
    join workspace w on w.id = m.workspace_id
   where u.id = $1 and u.disabled_at is null and u.erased_at is null and w.personal_of = u.id
), started as (
  insert into session (user_id, workspace_id, ip_address, user_agent, expires_at)
  select user_id, workspace_id, $2::inet, $3,
         now() + $4 * interval '1 day'
    from chosen
  returning id, user_id, workspace_id
), first_token as (
  insert into refresh_token (hash, session_id) select $5::bytea, id from started
), event as (
  insert into login_event (user_id, success, method, ip_address, user_agent)
  select user_id, true, $6, $7::inet, $8 from started
)
select s.id as "sessionId", s.user_id as "userId", s.workspace_id as "workspaceId", c.role from started s, chosen c;
