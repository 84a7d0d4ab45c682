prepare mark_all_read_1 as
select clock_timestamp()::text as at;

prepare mark_all_read_2 as
update notification set read_at = now()
 where id in (select id from notification
               where user_id = $1 and read_at is null and created_at <= $2::timestamptz
               order by created_at desc, id desc limit $3 for update);
