import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import {
  countDecisions,
  isKnownPool,
  listDecisions,
  listReports,
  listRolloutSteps,
  listSamples,
  type PoolName,
} from '@matte/core/pool/pool-queries'
import { groupRollouts } from '@matte/core/pool/rollouts'
import { boundedRead } from '@matte/core/sample/bounded-read'
import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import { readListQuery, readPage, toWholeList } from '../../paging.ts'
import {
  operatorPoolSchema,
  poolSamplesSchema,
  rolloutSchema,
  scalingDecisionSchema,
  toDecisionView,
  toRolloutView,
  toSampleView,
} from '../../schemas/operator.ts'
import { pageOf, pageQuery } from '../../schemas/page.ts'
import { refer, selfResponses, success, withDefault } from '../../schemas/schema.ts'
import { listAllPools } from './all-pools.ts'

type PoolDeps = { readonly db: Db; readonly config: Config }

const tags = ['Operator']
const access = { access: 'operator' } as const

const poolParams = Type.Object({
  namespace: Type.String({ maxLength: 63, description: 'Namespace of the TritonPool.', examples: ['matte'] }),
  name: Type.String({ maxLength: 253, description: 'Name of the TritonPool.', examples: ['default'] }),
})

const listSchema = {
  operationId: 'listPools',
  summary: 'List the pools with their pods, their load and the last decision',
  description:
    'TritonPools as the leader of the operators last reported them, every 15 s and when the number of ready pods ' +
    'changes, then pools that only workers know, as in local mode.',
  tags,
  response: selfResponses(200, success('All pools.', pageOf(refer(operatorPoolSchema))), []),
}
const samplesSchema = {
  operationId: 'listPoolSamples',
  summary: 'Get pods, queue and requests in flight of a pool over time',
  description:
    'The leader stores a sample every 15 s and when the number of ready pods changes, for a day. ' +
    'Longer periods have wider steps.',
  tags,
  params: poolParams,
  querystring: Type.Object({
    minutes: withDefault(
      Type.Integer({ minimum: 1, maximum: 1_440, description: 'Length of the period until now.', examples: [60] }),
      60,
    ),
  }),
  response: selfResponses(200, success('The samples.', refer(poolSamplesSchema)), ['NOT_FOUND']),
}
const decisionsDescription =
  'Every change of the desired number of pods, and each time that the number stays for another reason, at most once a ' +
  'minute per pool. Kept for 7 days.'
const poolDecisionsSchema = {
  operationId: 'listPoolDecisions',
  summary: 'List the scaling decisions about a pool, newest first',
  description: decisionsDescription,
  tags,
  params: poolParams,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(scalingDecisionSchema))), ['NOT_FOUND']),
}
const decisionsSchema = {
  operationId: 'listScalingDecisions',
  summary: 'List the scaling decisions about all pools, newest first',
  description: decisionsDescription,
  tags,
  querystring: Type.Object(pageQuery),
  response: selfResponses(200, success('One page.', pageOf(refer(scalingDecisionSchema))), []),
}
const rolloutsSchema = {
  operationId: 'listRollouts',
  summary: 'List the canaries step by step with their gates, newest first',
  description: 'The last 50 rollouts of 7 days. `live` has the step and the gates of a rollout in progress.',
  tags,
  response: selfResponses(200, success('The rollouts.', pageOf(refer(rolloutSchema))), []),
}

const rolloutsMax = 50
/** The leader's interval, and the points of a chart. */
const sampleSeconds = 15
const pointsMax = 480

const stepOf = (minutes: number): number => Math.ceil((minutes * 60) / pointsMax / sampleSeconds) * sampleSeconds

export const poolRoutes: FastifyPluginAsyncTypebox<PoolDeps> = async (app, { db, config: { plans } }) => {
  app.get('/api/v1/operator/pools', { schema: listSchema, config: access }, async () =>
    toWholeList(await boundedRead(db, (read) => listAllPools(read, plans))),
  )

  app.get(
    '/api/v1/operator/pools/:namespace/:name/samples',
    { schema: samplesSchema, config: access },
    async ({ params, query: { minutes } }) => {
      const of = toPoolName(params)
      const stepSeconds = stepOf(minutes)
      const samples = await boundedRead(db, async (read) => {
        await requirePool(read, of)
        return listSamples(read, of, { minutes, stepSeconds })
      })
      return { namespace: of.namespace, name: of.pool, minutes, stepSeconds, samples: samples.map(toSampleView) }
    },
  )

  app.get(
    '/api/v1/operator/pools/:namespace/:name/decisions',
    { schema: poolDecisionsSchema, config: access },
    async ({ params, query }) => {
      const of = toPoolName(params)
      await requirePool(db, of)
      return readDecisions(query, of)
    },
  )

  app.get('/api/v1/operator/decisions', { schema: decisionsSchema, config: access }, ({ query }) =>
    readDecisions(query, undefined),
  )

  app.get('/api/v1/operator/rollouts', { schema: rolloutsSchema, config: access }, async () => {
    const [steps, reports] = await boundedRead(
      db,
      async (read) => [await listRolloutSteps(read), await listReports(read)] as const,
    )
    const live = new Map(reports.map(({ namespace, pool, report }) => [`${namespace}/${pool}`, report.rollout]))
    const rollouts = groupRollouts(steps, rolloutsMax)
    return toWholeList(rollouts.map((one) => toRolloutView(one, live.get(`${one.namespace}/${one.pool}`) ?? null)))
  })

  const readDecisions = (query: Parameters<typeof readListQuery>[0], of: PoolName | undefined) =>
    readPage(readListQuery(query), {
      read: (range) => Promise.all([listDecisions(db, of, range), range.total ?? countDecisions(db, of)]),
      micros: (row) => row.at_micros,
      view: toDecisionView,
    })
}

const toPoolName = ({ namespace, name }: { readonly namespace: string; readonly name: string }): PoolName => ({
  namespace,
  pool: name,
})

async function requirePool(db: Db, of: PoolName): Promise<void> {
  if (!(await isKnownPool(db, of))) throw new MatteError('NOT_FOUND', 'The operator has not reported such a pool.')
}
