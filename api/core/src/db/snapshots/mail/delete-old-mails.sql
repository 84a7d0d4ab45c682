prepare delete_old_mails as
delete from mail where id in (
  select id from mail where completed_at <= now() - $1 * interval '1 day'
   order by completed_at limit $2 for update skip locked);
