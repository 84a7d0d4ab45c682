prepare delay_verifications as
with due as materialized (
  select id, created_at < now() - interval '1 day' as is_old from account_request
   where kind <> 'reset-password' and due_at <= now() for update skip locked
), given_up as (
  delete from account_request a using due where a.id = due.id and due.is_old
)
update account_request a set due_at = now() + interval '5 seconds'
  from due where a.id = due.id and not due.is_old;
