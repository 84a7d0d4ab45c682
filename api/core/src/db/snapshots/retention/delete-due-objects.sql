prepare delete_due_objects_1 as
with due as materialized (
  select object_key from object_deletion where due_at <= now()
   order by due_at limit $1 for update skip locked
)
update object_deletion set due_at = now() + $2 * interval '1 minute'
 where object_key in (select object_key from due)
returning object_key as key;

prepare delete_due_objects_2 as
with line as (delete from object_deletion where object_key = any($1::text[]))
delete from upload where object_key = any($2::text[]) and deleted_at is not null;
