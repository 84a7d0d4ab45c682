// Many images: concurrency that follows the limits of the service, and a manifest that a later run continues.
import { MatteError } from '../error.ts'
import { connectionError } from '../http/answer-errors.ts'
import type { Transport } from '../http/transport.ts'
import type { ManyInput, NamedInput, RemoveManyOptions, RemoveOptions } from '../options.ts'
import { waitDefaultMs } from '../wait.ts'
import { grow, shrink, startConcurrency } from './concurrency.ts'
import { type Entry, openManifest } from './manifest.ts'
import type { ManyResult } from './many-result.ts'
import { createPulse, runPool } from './pool.ts'
import { removeOne } from './remove-one.ts'
import { createTurns } from './turns.ts'

type Finished = { readonly result: ManyResult; readonly entry?: Entry }

export async function* removeBackgrounds(
  transport: Transport,
  inputs: Iterable<ManyInput> | AsyncIterable<ManyInput>,
  options: RemoveManyOptions,
): AsyncGenerator<ManyResult, void, undefined> {
  const { concurrency = 'auto', manifest: where, done, signal, onProgress, ...common } = options
  if (concurrency !== 'auto' && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new MatteError('CLIENT_CONFIG', "`concurrency` must be 'auto' or an integer from 1.")
  }
  if (typeof inputs === 'string' || inputs instanceof Uint8Array) {
    throw new MatteError('CLIENT_CONFIG', 'Pass a list of inputs. One input is for `removeBackground`.')
  }
  const manifest = where === undefined ? undefined : await openManifest(where)
  let slots = startConcurrency(concurrency)
  let resumesAtMs = 0
  const ends = createPulse()
  const inTurn = createTurns({
    onRefused: (epoch) => {
      slots = shrink(slots, epoch)
    },
    ends,
    waitMs: common.waitMs ?? waitDefaultMs,
  })

  async function run(named: NamedInput, signal: AbortSignal): Promise<Finished | undefined> {
    const { key } = named
    const { epoch } = slots
    const onThrottled = (retryAfterMs = 0) => {
      slots = shrink(slots, epoch)
      resumesAtMs = Math.max(resumesAtMs, Date.now() + retryAfterMs)
    }
    const one: RemoveOptions = {
      ...common,
      signal,
      ...(onProgress && { onProgress: (progress) => onProgress({ ...progress, key }) }),
    }
    const deps = { transport: withThrottle(transport, onThrottled), manifest, isDoneSkipped: done !== 'download' }
    try {
      const inMyTurn = inTurn(epoch, signal)
      const finished = await removeOne({ ...deps, inTurn: inMyTurn }, named, one)
      slots = grow(slots)
      if (!finished) return undefined
      const { entry, cutout, resumed } = finished
      return { result: { key, cutout, resumed }, entry }
    } catch (cause) {
      return { result: { key, error: cause instanceof MatteError ? cause : connectionError(cause) } }
    } finally {
      ends.fire()
    }
  }

  try {
    for await (const { result, entry } of runPool({
      inputs,
      limit: () => slots.limit,
      pauseMs: () => resumesAtMs - Date.now(),
      run: (input, index, signal) => run(toNamed(input, index), signal),
      signal,
    })) {
      yield result
      // The caller asks for the next one, so it has taken this one.
      if (entry) await manifest?.record({ ...entry, state: 'done' })
    }
  } finally {
    await manifest?.close()
  }
}

const withThrottle = (transport: Transport, onThrottled: (retryAfterMs?: number) => void): Transport => ({
  ...transport,
  request: (method, path, options) => transport.request(method, path, { ...options, onThrottled }),
  retrying: (attempt, options) => transport.retrying(attempt, { ...options, onThrottled }),
})

/** Inputs without a name are numbered; a manifest then needs them in the same order. */
function toNamed(input: ManyInput, index: number): NamedInput {
  if (typeof input === 'object' && 'key' in input && 'input' in input) return input
  if (typeof input === 'string' || input instanceof URL) return { key: String(input), input }
  const name = input instanceof Blob && 'name' in input ? String(input.name) : ''
  return { key: name || String(index), input }
}
