prepare delete_old_notifications as
delete from notification where id in (
  select id from notification where created_at <= now() - $1 * interval '1 day'
   order by created_at limit $2 for update skip locked);
