prepare list_api_keys as
select * from (select "id", "name", "prefix", "last_four", "scopes", "created_at", "expires_at", "last_used_at",
  "revoked_at" from "api_key" where "workspace_id" = $1 order by "revoked_at" is not null, "created_at" desc
  limit $2) as "listed" order by "created_at" desc, "id" desc;
