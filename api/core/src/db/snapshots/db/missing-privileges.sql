prepare missing_privileges as
select w.privilege || coalesce(' (' || w.column_name || ')', '') || ' on ' || w.table_name as missing
  from unnest($1::text[], $2::text[],
              $3::text[]) as w (table_name, privilege, column_name)
  join pg_class c on c.oid = to_regclass(quote_ident(w.table_name))
  left join pg_attribute a on a.attrelid = c.oid and a.attname = w.column_name and not a.attisdropped
 where case when w.column_name is null then not has_table_privilege(current_user, c.oid, w.privilege)
            else not has_column_privilege(current_user, c.oid, a.attnum, w.privilege) end
union all
select 'usage on sequence ' || s.name from unnest($4::text[]) as s (name)
  join pg_class c on c.oid = to_regclass(quote_ident(s.name))
 where not has_sequence_privilege(current_user, c.oid, 'usage');
