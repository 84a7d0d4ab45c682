prepare list_due as
select id, "workspaceId", "askedAt" from (
  select distinct on (workspace_id)
         id, workspace_id as "workspaceId", asked_at as "askedAt", greatest(check_at, asked_at) as since
    from "payment_order"
   where check_at <= $1 and id <> all($2::uuid[])
     and (asked_at is null or asked_at < check_at
          or asked_at <= $3::timestamptz - $4 * interval '1 second')
   order by workspace_id, since
) due order by since limit $5;
