prepare find_live_sessions as
select p.session_id as "sessionId", p.workspace_id as "workspaceId"
  from unnest($1::uuid[],
              $2::uuid[]) as p (session_id, workspace_id)
  join session s on s.id = p.session_id and s.ended_at is null and s.expires_at > now()
  join app_user u on u.id = s.user_id and u.disabled_at is null and u.erased_at is null
  join membership m on m.workspace_id = p.workspace_id and m.user_id = u.id;
