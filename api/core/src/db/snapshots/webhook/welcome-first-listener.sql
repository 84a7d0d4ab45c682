prepare welcome_first_listener as
insert into delivery (workspace_id, event, event_key, endpoint_id, target_url, target_host, body)
select w.id, 'welcome', w.personal_of::text, e.id, e.target_href, e.target_host, $1
  from workspace w join webhook_endpoint e on e.workspace_id = w.id
 where w.id = $2 and w.personal_of is not null
   and w.created_at > now() - $3 * interval '1 day'
   and e.id = $4 and e.status = 'enabled' and e.deleted_at is null
   and (cardinality(e.event_types) = 0 or 'welcome' = any(e.event_types))
   and not exists (select from delivery
                    where workspace_id = w.id and event = 'welcome' and event_key = w.personal_of::text);
