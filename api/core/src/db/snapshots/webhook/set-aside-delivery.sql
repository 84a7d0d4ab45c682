prepare set_aside_delivery as
update delivery d
   set status = s.status, completed_at = case when s.status = 'pending' then null else now() end,
       claim = null, claimed_until = null, attempt = d.attempt - 1
  from webhook_endpoint e
 cross join lateral (
    select case when e.deleted_at is not null then 'canceled' when e.status = 'enabled' then 'pending'
                when $1::text = $2 then 'canceled' else 'paused' end as status) s
 where d.id = $3 and d.claim = $4 and d.attempt = $5 and e.id = $6
returning d.status;
