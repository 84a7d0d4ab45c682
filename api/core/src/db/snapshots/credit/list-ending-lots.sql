prepare list_ending_lots as
select "id", "kind", "available", greatest(expires_at, grace_until) as "endsAt", floor(extract(epoch
  from greatest(expires_at, grace_until) - now()) / 86400)::int as "daysLeft" from "credit_lot"
  where "workspace_id" = $1 and "has_available" = $2 and greatest(expires_at, grace_until) > now()
  and greatest(expires_at, grace_until) <= now() + 30 * interval '1 day' order by "endsAt", "id" limit $3;
