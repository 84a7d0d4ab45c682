// Nudges over a real NATS: they wake consumers, and losing one or its stream is recoverable.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume, ensureStream, type NudgeMessage } from '@matte/core/bus/consume'
import { listen } from '@matte/core/bus/listen'
import { createNudge, type Nudge } from '@matte/core/bus/nudge'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { durables, modelOf, streamName, subjects } from '@matte/core/bus/streams'
import { deferred, type Service } from '@matte/core/runtime/service'
import { jetstreamManager } from '@nats-io/jetstream'
import { pino } from 'pino'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { newPrefix, removeStreams, withNats } from '../support/nats.ts'
import { ownNats } from '../support/servers.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const started: Service[] = []
const prefixes: string[] = []

afterEach(async () => {
  for (const service of started.splice(0).reverse()) await service.stop()
  for (const prefix of prefixes.splice(0)) await removeStreams(inject('natsUrl'), prefix)
})

async function start<S extends Service>(service: S): Promise<S> {
  started.push(service)
  await service.start()
  return service
}

type Party = { readonly bus: Bus; readonly nudge: Nudge }

async function givenBus(prefix = newPrefix()): Promise<Party & { readonly prefix: string }> {
  if (!prefixes.includes(prefix)) prefixes.push(prefix)
  const bus = await start(openBus({ url: inject('natsUrl'), prefix, logger, name: 'test' }))
  await until('the bus is connected', () => bus.connection())
  return { bus, nudge: createNudge(bus, logger), prefix }
}

it('stops while it is connecting', { timeout: 5_000 }, async () => {
  const bus = openBus({ url: inject('natsUrl'), prefix: newPrefix(), logger, name: 'test' })
  await bus.start()
  await bus.stop()
  expect(bus.connection()).toBeUndefined()
})

it.each([
  ['a token', 'authorization { token: "s3cr%t/1" }', 's3cr%25t%2F1'],
  ['a user', 'authorization { user: matte, password: "p@ss,word" }', 'matte:p@ss%2Cword'],
])('connects to a server that requires %s, with credentials from its URL', async (_what, config, credentials) => {
  const dir = mkdtempSync(join(tmpdir(), 'matte-nats-'))
  const server = await ownNats({ dir, say: () => undefined }, { config })
  try {
    const url = server.url.replace('nats://', `nats://${credentials}@`)
    const bus = await start(openBus({ url, prefix: newPrefix(), logger, name: 'test' }))
    expect(await until('the bus is connected', () => bus.connection())).toBeDefined()
    await bus.stop()
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true })
  }
})

type ConsumerOptions = { ready?: (signal: AbortSignal) => Promise<void> }

/** A consumer of task nudges that is pulling. */
async function givenConsumer({ bus, nudge }: Party, options: ConsumerOptions = {}) {
  const received: NudgeMessage[] = []
  const wake = (message: NudgeMessage): void => void received.push(message)
  const durable = durables.taskNudges(bus.prefix)
  const service = await start(consume({ bus, durable, logger, wake, ...options }))
  if (!options.ready) await untilPulling(nudge, received)
  return { received, service }
}

/** Publishes until one arrives: a nudge published before the stream exists may be lost. */
async function untilPulling(nudge: Nudge, received: NudgeMessage[]): Promise<void> {
  const already = received.length
  await until('a nudge arrives', () => {
    nudge.task('probe', 'probe')
    return received.length > already
  })
}

const ids = (received: readonly NudgeMessage[]): string[] =>
  received.filter(({ id }) => id !== 'probe').map(({ id }) => id)

describe('a nudge', () => {
  it('wakes with the subject of its model and the id of its task', async () => {
    const party = await givenBus()
    const { received } = await givenConsumer(party)
    party.nudge.task('my-model.v1.2', 'task-1')
    const message = await until('the nudge arrives', () => received.find(({ id }) => id === 'task-1'))
    expect(modelOf(message.subject)).toBe('my-model.v1.2')
  })

  it('is acked at once and not delivered again', async () => {
    const party = await givenBus()
    const { received } = await givenConsumer(party)
    for (let index = 0; index < 20; index++) party.nudge.task('m', `task-${index}`)
    await until('all have arrived', () => ids(received).length >= 20)
    await until('the stream is empty', async () => (await streamInfo(party)).state.messages === 0)
    expect(ids(received)).toHaveLength(20)
  })

  it('reaches one of several replicas', async () => {
    const first = await givenBus()
    const second = await givenBus(first.prefix)
    const [one, two] = [await givenConsumer(first), await givenConsumer(second)]
    for (let index = 0; index < 40; index++) first.nudge.task('m', `task-${index}`)
    await until('all have arrived', () => ids(one.received).length + ids(two.received).length >= 40)
    expect(new Set([...ids(one.received), ...ids(two.received)]).size).toBe(40)
  })

  it('stays in the stream for other replicas while one is not ready', async () => {
    const busy = await givenBus()
    const room = deferred<void>()
    const { received } = await givenConsumer(busy, { ready: () => room.promise })
    const idle = await givenConsumer(await givenBus(busy.prefix))
    busy.nudge.task('m', 'task-1')
    await until('the idle replica has it', () => ids(idle.received).length === 1)
    expect(received).toEqual([])
    room.resolve()
  })

  it('for a delivery does not reach consumers of tasks', async () => {
    const party = await givenBus()
    const { received } = await givenConsumer(party)
    party.nudge.delivery('delivery-1')
    party.nudge.task('m', 'task-1')
    await until('the task’s nudge arrives', () => ids(received).length > 0)
    expect(ids(received)).toEqual(['task-1'])
  })

  it('causes no error without a server', async () => {
    const bus = await start(openBus({ url: 'nats://127.0.0.1:1', prefix: newPrefix(), logger, name: 'test' }))
    createNudge(bus, logger).task('m', 'task-1')
    expect(bus.connection()).toBeUndefined()
  })

  it('is dropped, oldest first, beyond the stream’s limit', async () => {
    const party = await givenBus()
    const { service } = await givenConsumer(party)
    await service.stop()
    for (let index = 0; index < 400; index++) party.nudge.task('m', `task-${index}`)
    await party.bus.connection()?.flush()
    const { state } = await until('the stream is full', async () => {
      const info = await streamInfo(party)
      return info.state.messages >= 256 && info.state.last_seq >= 400 && info
    })
    expect(state.messages).toBeLessThanOrEqual(257) // one subject in addition to that of the probe
  })
})

describe('a consumer', () => {
  it('continues when its stream is deleted', async () => {
    const party = await givenBus()
    const { received } = await givenConsumer(party)
    await removeStreams(inject('natsUrl'), party.prefix)
    await untilPulling(party.nudge, received)
  })

  it('continues when its durable is deleted', async () => {
    const party = await givenBus()
    const { received } = await givenConsumer(party)
    await withNats(inject('natsUrl'), async (connection) => {
      const manager = await jetstreamManager(connection)
      await manager.consumers.delete(streamName(party.prefix, 'nudges'), durables.taskNudges(party.prefix).name)
    })
    await untilPulling(party.nudge, received)
  })

  it('stops immediately during a pull, and can be stopped twice', async () => {
    const party = await givenBus()
    const { service } = await givenConsumer(party)
    await service.stop()
    await service.stop()
  })

  it('updates an older stream to the current configuration', async () => {
    const party = await givenBus()
    await withNats(inject('natsUrl'), async (connection) => {
      const manager = await jetstreamManager(connection)
      const subjects = [`${party.prefix}.task.>`]
      await manager.streams.add({ name: streamName(party.prefix, 'nudges'), subjects, retention: 'workqueue' })
    })
    await givenConsumer(party)
    const { config } = await streamInfo(party)
    expect(config.subjects).toEqual(['task.>', 'delivery', 'fetch'].map((last) => `${party.prefix}.${last}`))
    expect(config.storage).toBe('file') // unchanged, because the server cannot change it
  })

  it('uses memory storage, or file storage on a server without memory for streams', async () => {
    const party = await givenBus()
    await givenConsumer(party)
    expect((await streamInfo(party)).config.storage).toBe('memory')

    const dir = mkdtempSync(join(tmpdir(), 'matte-nats-'))
    const server = await ownNats({ dir, say: () => undefined }, { memoryMegabytes: 0 })
    const prefix = newPrefix()
    const storage = await withNats(server.url, async (connection) => {
      await ensureStream(connection, { prefix, replicas: 1, logger }, 'nudges')
      return (await (await jetstreamManager(connection)).streams.info(streamName(prefix, 'nudges'))).config.storage
    }).finally(async () => {
      await server.stop()
      rmSync(dir, { recursive: true })
    })
    expect(storage).toBe('file')
  })
})

it('keeps a stream as it is while the server has no room for the copies of the setting', async () => {
  const prefix = newPrefix()
  prefixes.push(prefix)
  const warnings: string[] = []
  const loud = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const info = await withNats(inject('natsUrl'), async (connection) => {
    await ensureStream(connection, { prefix, replicas: 1, logger }, 'nudges')
    await ensureStream(connection, { prefix, replicas: 3, logger: loud }, 'nudges')
    return (await jetstreamManager(connection)).streams.info(streamName(prefix, 'nudges'))
  })
  expect(info.config.num_replicas).toBe(1)
  expect(warnings.join()).toContain('stream was not updated')
})

describe('a change notification', () => {
  it('reaches all listeners and is stored by no stream', async () => {
    const party = await givenBus()
    await givenConsumer(party)
    const before = (await streamInfo(party)).state.last_seq
    const heard = [new Set<string>(), new Set<string>()]
    const services = heard.map((each) =>
      listen({ bus: party.bus, subject: subjects.change(party.prefix), heard: (text) => void each.add(text) }),
    )
    for (const service of services) await service.start()
    await until('both hear it', () => {
      party.nudge.change('workspace-1')
      return heard.every((each) => each.has('workspace-1'))
    })
    expect((await streamInfo(party)).state.last_seq).toBe(before)
    for (const service of services) await service.stop()
  })
})

describe('the dead-letter stream', () => {
  it('stores a letter once, however often it is sent', async () => {
    const { bus } = await givenBus()
    const letter = { modelVersion: 'm', body: { taskId: 'task-1' }, id: 'task-1:1' }
    for (let index = 0; index < 3; index++) await publishDeadLetter(bus, letter)
    expect((await streamInfo({ bus }, 'dead-letters')).state.messages).toBe(1)
  })

  it('rejects while there is no server, so the sender retries', async () => {
    const bus = await start(openBus({ url: 'nats://127.0.0.1:1', prefix: newPrefix(), logger, name: 'test' }))
    await expect(publishDeadLetter(bus, { modelVersion: 'm', body: {}, id: 'x' })).rejects.toThrow('bus not connected')
  })
})

async function streamInfo({ bus }: Pick<Party, 'bus'>, name: 'nudges' | 'dead-letters' = 'nudges') {
  return withNats(inject('natsUrl'), async (connection) =>
    (await jetstreamManager(connection)).streams.info(streamName(bus.prefix, name)),
  )
}
