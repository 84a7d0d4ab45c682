prepare claim_due_deliveries as
select (d).id, (d).claim, (d).attempt, (d).attempt - (d).attempts_before as "scheduledAttempt",
       (d).workspace_id as "workspaceId", (d).task_id as "taskId", (d).event, (d).sample,
       (d).endpoint_id as "endpointId", (d).target_url as "targetUrl", (d).target_host as "targetHost", (d).body,
       (d).traceparent, (extract(epoch from clock_timestamp()) * 1000)::float8 as "claimedAtMs",
       lapsed as "takenOver", callback_secret_sealed as "secretSealed",
         case when previous_callback_until > now() then previous_callback_secret_sealed end as "previousSealed",
         saw_all as "sawAll", waits
  from claim_deliveries($1::int, $2::int, $3::int, $4::int)
         as c (d, lapsed, saw_all, waits)
  left join lateral (
    select * from workspace w where w.id = (d).workspace_id and (d).endpoint_id is null limit 1
  ) workspace on true;
