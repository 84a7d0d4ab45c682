// A cluster of three NATS servers that loses servers, leaders, routes and its quorum while callers create tasks. Matte
// goes on by its timers, and by nudges again once the stream has a leader.
import { openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { durables, streamName } from '@matte/core/bus/streams'
import { grantCredits } from '@matte/core/credit/lot-queries'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { insertWorkspace } from '@matte/core/workspace/workspace-queries'
import { jetstreamManager } from '@nats-io/jetstream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../support/client.ts'
import { type Fake, startFake } from '../../support/fake-triton.ts'
import { newPrefix } from '../../support/nats.ts'
import { lemur } from '../../support/photos.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type NatsCluster, type NodeName, startNatsCluster } from './cluster.ts'
import { expectNothingLost, type Load, readWaits, startLoad, type Waits } from './load.ts'

/** A full length of the outage without quorum; a shorter one only saves time while the test is changed. */
const withoutQuorumMs = Number(process.env.NATS_WITHOUT_QUORUM_MS ?? 60_000)
/** Tasks of each calm phase. */
const many = 30
/** One caller alone shows the timer: no other task's end makes the worker look again. */
const callers = Number(process.env.NATS_CALLERS ?? 3)

const prefix = newPrefix()
const nudges = `${prefix}-nudges`
const unlimited = { requestsPerMinute: 1_000_000, concurrentTasks: 1_000_000, monthlyQuota: 1_000_000 }

describe('a NATS cluster of three', { timeout: withoutQuorumMs + 300_000 }, () => {
  const stack = useStack({ processes: [] })
  let cluster: NatsCluster
  let triton: Fake
  let receiver: Receiver
  let load: Load
  const measured: [phase: string, waits: Waits][] = []

  /** Tasks that were created in a phase, with the time that they waited. */
  const during = async (phase: string, act: () => Promise<void>): Promise<void> => {
    const before = load.accepted.length
    await act()
    const ids = load.accepted.slice(before).filter((id) => load.done.includes(id))
    measured.push([phase, await readWaits(stack.db, ids)])
  }

  const delivered = (): Promise<number> =>
    cluster.ask(async (connection) => {
      const info = await (await jetstreamManager(connection)).consumers.info(nudges, 'controller')
      return info.delivered.consumer_seq
    })

  /** Nudges reach the worker again: the durable delivers more than it had. */
  const untilNudged = async (): Promise<void> => {
    await cluster.untilCurrent(nudges)
    const before = await until('the durable has a leader', async () => ({ seq: await delivered() }))
    await until('the worker receives nudges', async () => (await delivered()) > before.seq + 3)
  }

  beforeAll(async () => {
    ;[cluster, triton, receiver] = await Promise.all([startNatsCluster(), startFake(), startReceiver()])
    const { db } = stack
    await writeSetting(db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
    const { id: workspaceId } = await insertWorkspace(db, { name: 'load', plan: 'pro' })
    await grantCredits(db, { workspaceId, kind: 'test', amount: 1_000_000 })
    const key = generateApiKey()
    await insertApiKey(db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
    const env = {
      NATS_URL: cluster.url,
      NATS_STREAM_PREFIX: prefix,
      NATS_REPLICAS: '3',
      PLANS: JSON.stringify({ pro: unlimited }),
    }
    const models = [{ name: 'service-v2', tritonModel: 'u2netp', addresses: [triton.address], default: true }]
    const api = await stack.start('api', env)
    await stack.start('worker', { ...env, MODELS_STATIC: JSON.stringify(models), CLAIM_EVERY_MS: '1000' })
    await stack.start('dispatcher', env)
    const imageUrl = await createClient(api.url, key.key).upload(lemur())
    load = startLoad({ origin: api.url, apiKey: key.key, imageUrl, callbackUrl: receiver.url }, callers)
    await load.untilMore(3)
  })
  afterAll(async () => {
    await load?.stop()
    await Promise.all([receiver?.close(), triton?.kill()])
    await cluster?.stop()
    const table = measured.map(([phase, waits]) => ({ phase, ...waits }))
    process.stdout.write(`milliseconds from creation to claim\n${JSON.stringify(table, null, 1)}\n`)
  })

  it('keeps three copies of stream and durables', async () => {
    const { config } = await cluster.untilCurrent(nudges)
    expect(config.num_replicas).toBe(3)
    for (const durable of ['controller', 'dispatcher']) {
      const info = await cluster.ask(async (connection) =>
        (await jetstreamManager(connection)).consumers.info(nudges, durable),
      )
      expect(info.cluster?.replicas).toHaveLength(2)
    }
    await during('calm', () => load.untilMore(many))
  })

  it('changes the copies of existing streams and their durables with the setting, up and down', async () => {
    const other = newPrefix()
    const logger = pino({ level: 'silent' })
    const names = (['nudges', 'dead-letters'] as const).map((name) => streamName(other, name))
    for (const [round, replicas] of [1, 3, 1].entries()) {
      const bus = openBus({ url: cluster.url, prefix: other, replicas, logger, name: 'test' })
      const durable = durables.taskNudges(other)
      const consumer = consume({ bus, durable, logger, wake: () => undefined })
      await bus.start()
      await until('the bus is connected', () => bus.connection())
      await consumer.start()
      // A stream that changes its copies may miss the client's deadline; the sweep repeats dead letters too.
      const deadLetter = { modelVersion: 'u2netp', body: {}, id: `${round}` }
      await until('the dead letter is stored', () => publishDeadLetter(bus, deadLetter).then(() => true))
      await until(`everything has ${replicas} copies`, () =>
        cluster.ask(async (connection) => {
          const manager = await jetstreamManager(connection)
          const streams = await Promise.all(names.map((name) => manager.streams.info(name)))
          const clusters = [...streams, await manager.consumers.info(streamName(other, 'nudges'), durable.name)]
          return (
            streams.every(({ config }) => config.num_replicas === replicas) &&
            clusters.every((info) => (info.cluster?.replicas ?? []).length === replicas - 1)
          )
        }),
      )
      await consumer.stop()
      await bus.stop()
    }
    const { state } = await cluster.untilCurrent(streamName(other, 'dead-letters'))
    expect(state.messages).toBe(3)
  })

  it('goes on while the leading server is killed, and with it again', async () => {
    const leader = await cluster.leaderOf(nudges)
    await during('leader killed', async () => {
      await cluster.node(leader).kill('SIGKILL')
      await load.untilMore(many)
    })
    expect(await cluster.leaderOf(nudges)).not.toBe(leader)
    await cluster.node(leader).start()
    await untilNudged()
  })

  it('goes on while the leader moves', async () => {
    const leader = await cluster.leaderOf(nudges)
    await during('leader moved', async () => {
      await cluster.ask((connection) => connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${nudges}`))
      await cluster.ask((connection) => connection.request(`$JS.API.CONSUMER.LEADER.STEPDOWN.${nudges}.controller`))
      await load.untilMore(many)
    })
    await until('another server leads', async () => (await cluster.leaderOf(nudges)) !== leader)
    await untilNudged()
  })

  it('goes on while one server is cut off from the others, with the clients that are connected to it', async () => {
    const leader = await cluster.leaderOf(nudges)
    await during('minority cut off', async () => {
      cluster.partition(leader)
      await until('the majority has another leader', async () => {
        const [other] = cluster.names.filter((name) => name !== leader) as [NodeName]
        const info = await cluster.ask(
          async (connection) => (await jetstreamManager(connection)).streams.info(nudges),
          other,
        )
        return info.cluster?.leader !== undefined && info.cluster.leader !== leader
      })
      await load.untilMore(many)
    })
    cluster.join()
    await untilNudged()
  })

  it('goes on while a server hangs', async () => {
    const leader = await cluster.leaderOf(nudges)
    await during('leader hangs', async () => {
      await cluster.node(leader).kill('SIGSTOP')
      await load.untilMore(many)
    })
    await cluster.node(leader).kill('SIGCONT')
    await untilNudged()
  })

  it('goes on through a rolling restart', async () => {
    await during('rolling restart', async () => {
      for (const name of cluster.names) {
        await cluster.node(name).stop()
        await load.untilMore(3)
        await cluster.node(name).start()
        await cluster.untilCurrent(nudges)
      }
    })
    await untilNudged()
  })

  it('goes on by its timers while two of three servers are down', async () => {
    const [first, ...others] = cluster.names
    await during('no quorum', async () => {
      await Promise.all(others.map((name) => cluster.node(name).kill('SIGKILL')))
      const since = performance.now()
      await until('the outage has its length', () => performance.now() - since > withoutQuorumMs, {
        timeoutMs: withoutQuorumMs + 60_000,
      })
    })
    const info = cluster.ask(async (connection) => (await jetstreamManager(connection)).streams.info(nudges), first)
    await expect(info, 'the stream has no leader').rejects.toThrow()
    await Promise.all(others.map((name) => cluster.node(name).start()))
    await untilNudged()
    await during('calm again', () => load.untilMore(many))
  })

  it('lost nothing, and charged and reported everything once', async () => {
    await load.stop()
    await expectNothingLost(load, stack.db, receiver)
    process.stdout.write(`${load.accepted.length} tasks accepted\n`)
  })
})
