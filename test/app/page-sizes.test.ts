// Every list operation on both surfaces: pages have the requested size, 20 by default, and unpaged lists have a single
// page. Operations come from the service's own document.
import { buildDocument } from '@matte/generate/build-document'
import { beforeAll, expect, it } from 'vitest'
import { useApi } from '../api/given.ts'
import type { Operation } from '../support/app/operations.ts'
import { addressOf, givenVictim, type Victim } from './victim.ts'

type Schema = {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}
type Get = Operation & {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly responses: Record<string, { description: string; content?: Record<string, { schema?: Schema }> }>
}
type Page = {
  readonly items: readonly unknown[]
  readonly page: number
  readonly pageSize: number
  readonly total: number
}

type Document = {
  readonly paths: Record<string, { readonly get?: Get }>
  readonly components: { readonly schemas: Record<string, Schema> }
}

const { paths, components } = (await buildDocument()) as Document
const follow = (schema?: Schema): Schema | undefined =>
  schema?.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1) ?? '']
const isPage = ({ responses }: Get): boolean => {
  const schema = responses['200']?.content?.['application/json']?.schema
  const { allOf = [] } = follow(follow(schema)?.properties?.data) ?? {}
  return allOf.some(({ $ref }) => $ref === '#/components/schemas/Page')
}
/** `test/api/operator.test.ts` covers the lists for operators. */
const isForOperators = (path: string): boolean => path.startsWith('/api/v1/operator/')
const pages = Object.entries(paths).flatMap(([path, { get }]) =>
  get !== undefined && isPage(get) && !isForOperators(path) ? [{ ...get, method: 'GET', path }] : [],
)
const takesSize = ({ parameters = [] }: Get): boolean => parameters.some(({ name }) => name === 'pageSize')
const [paged, whole] = [pages.filter(takesSize), pages.filter((page) => !takesSize(page))]

const world = useApi()
let victim: Victim
beforeAll(async () => {
  victim = await givenVictim(world, pages)
})

async function read(operation: Get & { path: string }, query = ''): Promise<Page> {
  const { caller, owner } = victim
  const credential = operation.path.includes('/app/')
    ? { authorization: `Bearer ${owner.accessToken}` }
    : { 'x-api-key': caller.apiKey }
  const answer = await fetch(`${addressOf(victim, operation)}${query}`, { headers: credential })
  const { data } = (await answer.json()) as { data: Page }
  return data
}

it('there are lists of both kinds on both surfaces', () => {
  const surfaces = (list: typeof pages) => new Set(list.map(({ path }) => path.includes('/app/')))
  expect([surfaces(paged).size, surfaces(whole).size]).toEqual([2, 2])
  expect(pages.map(({ operationId }) => operationId)).toEqual(expect.arrayContaining(['listBatches', 'appListBatches']))
})

it.each(paged)('$path has the requested size, and 20 by default', async (operation) => {
  expect(await read(operation)).toMatchObject({ page: 1, pageSize: 20 })
  expect(await read(operation, '?pageSize=7')).toMatchObject({ page: 1, pageSize: 7 })
  expect(await read(operation, '?pageSize=100')).toMatchObject({ page: 1, pageSize: 100 })
})

it.each(whole)('$path is complete, as its total confirms', async (operation) => {
  const { items, page, pageSize, total } = await read(operation)
  expect({ page, pageSize, total }).toEqual({ page: 1, pageSize: Math.max(20, items.length), total: items.length })
})
