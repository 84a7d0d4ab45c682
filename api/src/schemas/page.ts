import { pageSizeDefault, totalMax } from '@matte/core/db/page'
import { type TSchema, Type } from 'typebox'
import { nullable, withDefault } from './schema.ts'

const pageSizeMax = 100
/** Exact up to 15 digits; see http/validation.ts. */
const pageMax = 999_999_999_999_999

export const firstPage = 1

const exampleCursor = 'MTc5NTI1MzQwMDAwMDAwMC4wZDlmMmYzYy03ZjViLTRmMGUtOGI1NS0wYThhN2M1YmUwYzEuMg'

export const pageQuery = {
  page: withDefault(
    Type.Integer({ minimum: 1, maximum: pageMax, description: 'The first page is 1.', examples: [1] }),
    firstPage,
  ),
  pageSize: withDefault(
    Type.Integer({ minimum: 1, maximum: pageSizeMax, description: 'Records on a page.', examples: [20] }),
    pageSizeDefault,
  ),
  cursor: Type.Optional(
    Type.String({
      description: '`nextCursor` of the previous page, instead of `page`. Equally fast at any depth.',
      examples: [exampleCursor],
    }),
  ),
}

const day = (example: string) =>
  Type.Optional(
    Type.String({
      description: 'YYYY-MM-DD (UTC, the day included) or an ISO 8601 timestamp.',
      examples: [example],
    }),
  )

export const spanQuery = { startDate: day('2026-11-01'), endDate: day('2026-11-21T12:00:00Z') }

export const pageOf = <S extends TSchema>(items: S) =>
  Type.Object({
    items: Type.Array(items),
    page: Type.Integer({ examples: [firstPage] }),
    pageSize: Type.Integer({
      description: 'As requested, 20 by default; a list without paging has at least `total`.',
      examples: [pageSizeDefault],
    }),
    total: Type.Integer({ description: `Records that match, over all pages; counted up to ${totalMax}.` }),
    totalIsMinimum: Type.Optional(
      Type.Literal(true, { description: 'There are more than `total`; absent when it is exact.' }),
    ),
    totalPages: Type.Integer(),
    nextCursor: nullable(Type.String({ description: 'Null on the last page.' })),
  })
