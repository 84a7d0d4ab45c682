prepare replace_models_1 as
select "name", "pool", "triton_model" as "tritonModel", "is_default" as "isDefault", "available", "properties"
  from "model" order by "name";

prepare replace_models_2 as
select pg_advisory_xact_lock(hashtext('matte.model'));

prepare replace_models_3 as
select "name", "pool", "triton_model" as "tritonModel", "is_default" as "isDefault", "available", "properties"
  from "model" order by "name";

prepare replace_models_4 as
update model set is_default = false, available = name = any($1::text[])
 where is_default or available and name <> all($2::text[]);

prepare replace_models_5 as
insert into model as m (name, pool, triton_model, is_default, available, properties)
select name, pool, triton_model, is_default, true, properties::jsonb
  from unnest($1::text[], $2::text[], $3::text[], $4::boolean[],
              $5::text[]) as i (name, pool, triton_model, is_default, properties)
on conflict (name) do update
  set pool = excluded.pool, triton_model = excluded.triton_model, is_default = excluded.is_default,
      available = true,
      properties = coalesce(excluded.properties,
        case when (m.pool, m.triton_model) = (excluded.pool, excluded.triton_model) then m.properties end)
where (m.pool, m.triton_model, m.is_default, m.available)
   <> (excluded.pool, excluded.triton_model, excluded.is_default, true)
   or m.properties is distinct from coalesce(excluded.properties, m.properties);
