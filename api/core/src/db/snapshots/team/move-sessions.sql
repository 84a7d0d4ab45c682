prepare move_sessions as
update session s set workspace_id = w.id
  from workspace w
 where s.workspace_id = $1 and w.personal_of = s.user_id
   and s.user_id = coalesce($2::uuid, s.user_id) and s.ended_at is null;
