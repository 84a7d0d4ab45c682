// Fate of every task, from the load client's log.
import { kinds } from '../client/kinds.ts'
import type { Line } from '../client/lines.ts'

const linesOf = <T extends Line['type']>(lines: readonly Line[], type: T): Extract<Line, { type: T }>[] =>
  lines.filter((line): line is Extract<Line, { type: T }> => line.type === type)

const endText = (status: string, reason: string | null): string => (reason === null ? status : `${status} ${reason}`)

/** Lost tasks and duplicate effects, one sentence each. Lines of a task come in any order. */
export function findLossesAndRepeats(lines: readonly Line[]): readonly string[] {
  const accepted = linesOf(lines, 'accepted')
  const kindOf = new Map(linesOf(lines, 'begun').map(({ key, kind }) => [key, kind]))
  const tasks = new Map(accepted.map(({ id, key }) => [id, kindOf.get(key) ?? '']))
  const strangers = [
    ...linesOf(lines, 'ended').map(({ id }) => id),
    ...linesOf(lines, 'webhook').map(({ task }) => task),
  ]
  return [
    ...linesOf(lines, 'gaveUp').map(({ key, error }) => `${key} was given up: ${error}`),
    ...findKeyFaults(lines, [...kindOf.keys()]),
    ...[...new Set(strangers)].filter((id) => !tasks.has(id)).map((id) => `task ${id} was never accepted`),
    ...[...tasks].flatMap(([id, kind]) => findTaskFaults(lines, id, kind)),
  ]
}

/** Each idempotency key is one task, or a rejected creation. */
function findKeyFaults(lines: readonly Line[], keys: readonly string[]): readonly string[] {
  const pairs = new Map(linesOf(lines, 'accepted').map(({ key, id }) => [`${key} ${id}`, { key, id }]))
  const byKey = Map.groupBy(pairs.values(), ({ key }) => key)
  const byId = Map.groupBy(pairs.values(), ({ id }) => id)
  const declined = new Set(linesOf(lines, 'declined').map(({ key }) => key))
  return [
    ...keys
      .filter((key) => !byKey.has(key) && !declined.has(key))
      .map((key) => `${key} was neither accepted nor declined`),
    ...[...byKey].filter(([, ids]) => ids.length > 1).map(([key, ids]) => `${key} became ${ids.length} tasks`),
    ...[...byId].filter(([, of]) => of.length > 1).map(([id, of]) => `task ${id} is that of ${of.length} keys`),
  ]
}

function findTaskFaults(lines: readonly Line[], id: string, kind: string): readonly string[] {
  const expected = kinds[kind]?.end
  if (expected === undefined || 'refusedWith' in expected) return [`task ${id} of kind "${kind}" was to be refused`]
  const end = endText(expected.status, 'reason' in expected ? expected.reason : null)
  const ends = linesOf(lines, 'ended').filter((line) => line.id === id)
  const ended = ends.map(({ status, reason }) => endText(status, reason)).join()
  const webhooks = linesOf(lines, 'webhook').filter(({ task }) => task === id)
  const events = [...new Map(webhooks.map(({ delivery, event }) => [delivery, event])).values()].join()
  const results = linesOf(lines, 'result').filter((line) => line.id === id)
  return [
    ended !== end && `task ${id} (${kind}) ended as "${ended}" instead of "${end}"`,
    // The same delivery may be repeated; a second delivery may not.
    events !== `task.${expected.status}` && `task ${id} had the webhooks "${events}"`,
    webhooks.some(({ signed }) => !signed) && `a webhook of task ${id} has a wrong signature`,
    expected.status === 'succeeded' && results.length === 0 && `task ${id} has no result`,
    ...results.map(({ problem }) => problem !== null && `result of task ${id}: ${problem}`),
  ].filter((sentence) => sentence !== false)
}

/** Compares the service's counts of tasks and credits with the client's. */
export function findDifferences(lines: readonly Line[]): readonly string[] {
  const totals = lines.find((line) => line.type === 'totals')
  if (totals === undefined) return ['the client did not come to its end']
  const accepted = new Set(lines.flatMap((line) => (line.type === 'accepted' ? [line.id] : [])))
  const listed = new Set(totals.listed)
  const ended = (status: string): number => linesOf(lines, 'ended').filter((line) => line.status === status).length
  const { totalTasks, succeededTasks, failedTasks, creditsConsumed } = totals.usage
  const differs = (what: string, service: number, client: number) =>
    service !== client && `${what}: the service has ${service}, the client ${client}`
  return [
    ...[...listed].filter((id) => !accepted.has(id)).map((id) => `task ${id} is listed and was never accepted`),
    ...[...accepted].filter((id) => !listed.has(id)).map((id) => `task ${id} is not listed`),
    differs('tasks', totalTasks, accepted.size),
    differs('succeeded', succeededTasks, ended('succeeded')),
    differs('failed', failedTasks, ended('failed')),
    differs('credits', creditsConsumed, ended('succeeded')),
  ].filter((sentence) => sentence !== false)
}
