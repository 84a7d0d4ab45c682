// Runs one case in one language with a new workspace and a new proxy, and compares the outcome with the expected one.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Case, Expected } from '../cases.ts'
import { type BreakingProxy, type Route, startBreakingProxy } from './breaking-proxy.ts'
import {
  type Call,
  type ClientOptions,
  type Driver,
  type Language,
  type Outcome,
  type Result,
  type Running,
  startDriver,
} from './driver.ts'
import type { Service, Workspace } from './service.ts'
import { buildVerification } from './signing.ts'

export type Bench = {
  readonly service: Service
  readonly drivers: Readonly<Record<Language, Driver>>
  /** Folder of the inputs. */
  readonly inputs: string
  /** Small photos for calls with many. */
  readonly photos: readonly string[]
}

export async function runCase(one: Case, language: Language, bench: Bench): Promise<void> {
  const workspace = await bench.service.createWorkspace(one.workspace)
  const stopped = Promise.withResolvers<void>()
  const proxy = await startBreakingProxy({
    upstream: bench.service.origin,
    onStop: stopped.resolve,
    ...(one.faults && { faults: one.faults }),
  })
  try {
    const run: Run = { one, language, bench, proxy, workspace, stopped: stopped.promise }
    const outcome = await (isKilled(one) ? runTwice(run) : runOnce(run))
    await check(one.expected, outcome, run)
  } finally {
    await proxy.close()
  }
}

type Run = {
  readonly one: Case
  readonly language: Language
  readonly bench: Bench
  readonly proxy: BreakingProxy
  readonly workspace: Workspace
  readonly stopped: Promise<void>
}

const isKilled = ({ faults = [] }: Case): boolean => faults.some((fault) => fault.do === 'stop')

async function runOnce(run: Run): Promise<Outcome> {
  const running = begin(run, run.bench.drivers[run.language])
  const { abortWhen } = run.one
  if (abortWhen !== undefined) {
    await run.bench.service.untilTask(run.workspace.id, abortWhen)
    running.abort()
  }
  return running.outcome
}

const otherLanguage: Readonly<Record<Language, Language>> = {
  TypeScript: 'Python',
  Python: 'TypeScript',
  'Python with asyncio': 'TypeScript',
}

/** Kills the program when the proxy says so. Another one, maybe of another language, continues with the same call. */
async function runTwice(run: Run): Promise<Outcome> {
  const { one, language, bench } = run
  const killed = await startDriver(language)
  const early = begin(run, killed).outcome.then((outcome) => {
    throw new Error(`the call ended before the crash: ${JSON.stringify(outcome)}`)
  })
  try {
    await Promise.race([run.stopped, early])
  } finally {
    await killed.kill()
  }
  return begin(run, bench.drivers[one.changesLanguage ? otherLanguage[language] : language]).outcome
}

function begin({ one, bench, proxy, workspace, language }: Run, driver: Driver): Running {
  const { baseUrl = '{origin}/api/v1', apiKey = workspace.apiKey, ...more } = one.client ?? {}
  const client: ClientOptions = { apiKey, baseUrl: baseUrl.replace('{origin}', proxy.origin), ...more }
  return driver.start(client, buildCall(one.call, { bench, name: `${workspace.id}-${language}` }))
}

function buildCall(call: Case['call'], { bench, name }: { bench: Bench; name: string }): Call {
  switch (call.name) {
    case 'verify':
      return buildVerification(call.signing)
    case 'listTasks':
      return call
    case 'cutOut':
    case 'erase':
    case 'removeBackground': {
      const { input, ...rest } = call
      return { ...rest, path: join(bench.inputs, input) }
    }
    case 'removeBackgrounds': {
      const { count, manifest, ...rest } = call
      const inputs = bench.photos.slice(0, count).map((path, index) => ({ key: `photo-${index}`, path }))
      return { ...rest, inputs, ...(manifest && { manifest: join(bench.inputs, `${name}.manifest`) }) }
    }
  }
}

async function check(expected: Expected, outcome: Outcome, run: Run): Promise<void> {
  const { proxy, bench, workspace, language } = run
  const { service } = bench
  const say = `${language}: ${JSON.stringify(outcome.error ?? {})}`
  if (expected.error) checkError(expected.error, outcome, say)
  else expect(outcome.error, say).toBeUndefined()
  if (expected.results) await checkResults(expected.results, outcome.results ?? [], run)
  if (expected.count !== undefined) expect(outcome.count, say).toBe(expected.count)
  const { tasks, spent } = expected
  expect(await service.settle(workspace.id), say).toEqual({ tasks, spent, held: 0, succeeded: spent })
  const counted = Object.keys(expected.requests ?? {}).map((route) => [route, proxy.count(route as Route)])
  expect(Object.fromEntries(counted), say).toEqual(expected.requests ?? {})
  if (expected.pauseMs) {
    const [first, second] = proxy.seen.filter(({ route }) => route === expected.pauseMs?.route)
    expect((second?.at ?? 0) - (first?.at ?? 0), say).toBeGreaterThanOrEqual(expected.pauseMs.atLeast)
  }
  checkManners(proxy, workspace, say)
}

function checkError(expected: NonNullable<Expected['error']>, { error }: Outcome, say: string): void {
  expect([expected.code].flat(), say).toContain(error?.code)
  expect(error?.retryable, say).toBe(expected.retryable)
  for (const field of expected.has ?? []) expect(error?.[field], `${say}: ${field}`).toBeTruthy()
  if (expected.message) expect(error?.message, say).toMatch(expected.message)
}

async function checkResults(expected: NonNullable<Expected['results']>, results: readonly Result[], run: Run) {
  const failed = results.filter(({ error }) => error !== undefined)
  expect(failed, run.language).toEqual([])
  const types = 'count' in expected ? Array<string>(expected.count).fill(expected.contentType) : expected
  expect(
    results.map(({ contentType }) => contentType),
    run.language,
  ).toEqual(types)
  for (const { taskId = '', sha256, sizeBytes } of results) {
    const stored = await run.bench.service.readResult(taskId)
    expect({ sizeBytes, sha256 }).toEqual({ sizeBytes: stored.length, sha256: sha256Of(stored) })
  }
  const ids = results.map(({ taskId }) => taskId)
  expect(new Set(ids).size, 'each result has a task of its own').toBe(ids.length)
}

/** Rules of every case, whatever it is about. */
function checkManners({ seen, elsewhere }: BreakingProxy, { apiKey }: Workspace, say: string): void {
  expect(elsewhere, `${say}: nothing reaches another host`).toEqual([])
  const creations = seen.filter(({ route }) => route === 'create')
  for (const { headers } of creations) expect(headers['idempotency-key'], say).toMatch(/^.{8,}$/)
  for (const { route, headers } of seen) {
    const isStore = route === 'upload' || route === 'download'
    if (isStore) expect(Object.values(headers), `${say}: the key is no business of the store`).not.toContain(apiKey)
    else expect(headers['user-agent'], say).toMatch(/matte-client/)
  }
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
