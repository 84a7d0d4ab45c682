prepare give_up_old_mails as
with old as materialized (
  select id from mail
   where status = 'pending' and created_at <= now() - $1 * interval '1 day'
     and (claim is null or claimed_until <= now())
   order by created_at limit $2 for update skip locked
)
update mail m
   set status = 'failed', completed_at = now(), to_address = null, to_key = null, data_sealed = null,
       claim = null, claimed_until = null, error = concat_ws(' ', 'EXPIRED', m.error)
  from old where m.id = old.id
returning m.template;
