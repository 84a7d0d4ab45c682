prepare read_makers as
select e.id as "endpointId", u.id as "userId", u.email, u.name, m.role
  from webhook_endpoint e
  join app_user u on u.id = e.created_by and u.erased_at is null
  left join membership m on m.workspace_id = e.workspace_id and m.user_id = u.id
 where e.id = any($1::uuid[]);
