prepare set_member_limits_1 as
select "id", "name", "plan" from "workspace" where "id" = $1 and "personal_of" is null
  and "deleted_at" is null for no key update;

prepare set_member_limits_2 as
select "role" from "membership" where "workspace_id" = $1 and "user_id" = $2;

prepare set_member_limits_3 as
update membership m set credit_limit = l.amount
  from membership s left join unnest($1::uuid[], $2::int[]) as l (user_id, amount) using (user_id)
 where s.workspace_id = $3 and m.workspace_id = s.workspace_id and m.user_id = s.user_id
returning m.user_id as "userId";
