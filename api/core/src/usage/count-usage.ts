import { type RawBuilder, sql } from 'kysely'

type Counted = {
  /** CTE with `workspace_id`, `model_version`, `created_by` and the columns counted; at most one row. */
  readonly from: RawBuilder<unknown>
  /** Counters by column of `usage_day`; all may refer to `from`. */
  readonly add: Readonly<Partial<Record<UsageCounter, RawBuilder<unknown>>>>
}

type UsageCounter = 'created' | 'succeeded' | 'failed' | 'canceled' | 'credits' | 'latency_ms'

/**
 * Parts of a statement that add to the counters of today (UTC), in total and by model and member. The workspace is
 * locked, so no other statement waits for these rows, except that of `add-requests.ts`. The second table costs 0.07 ms
 * of database CPU at a creation (of 0.43) and 0.05 ms at an end (of 0.63).
 */
export function usageParts({ from, add }: Counted): RawBuilder<unknown> {
  const names = Object.keys(add)
  const columns = sql.join(names.map((name) => sql.ref(name)))
  const sums = (table: string) =>
    sql.join(
      names.map((name) => sql`${sql.ref(name)} = ${sql.ref(`${table}.${name}`)} + ${sql.ref(`excluded.${name}`)}`),
    )
  const values = sql.join(Object.entries(add).map(([name, value]) => sql`${value} as ${sql.ref(name)}`))
  return sql`today as materialized (
      select workspace_id, (now() at time zone 'utc')::date as day, model_version, created_by, ${values} from ${from}
    ), usage as (
      insert into usage_day as u (workspace_id, day, ${columns}) select workspace_id, day, ${columns} from today
      on conflict (workspace_id, day) do update set ${sums('u')}
    ), usage_detail as (
      insert into usage_detail as d (workspace_id, day, model_version, user_id, ${columns})
      select workspace_id, day, model_version, created_by, ${columns} from today
      on conflict (workspace_id, day, model_version, user_id) do update set ${sums('d')}
    )`
}
