import { totalMax } from '@matte/core/db/page'
import { type TSchema, Type } from 'typebox'
import { nullable } from './schema.ts'

export const pageSizeDefault = 20
const pageSizeMax = 100
/** Numbers of up to 15 digits are exact; see http/validation.ts. */
const pageMax = 999_999_999_999_999

/** Query parameters of a list (D36). */
export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: pageMax, description: 'First page is 1, the default.' })),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: pageSizeMax, description: '20 by default.' })),
  cursor: Type.Optional(
    Type.String({ description: '`nextCursor` of the page before, instead of `page`: equally fast at any depth.' }),
  ),
}

/** A page of a list, newest first (D36). */
export const pageOf = <S extends TSchema>(items: S) =>
  Type.Object({
    items: Type.Array(items),
    page: Type.Integer(),
    pageSize: Type.Integer({
      description: 'As asked for, 20 by default; a list that is always whole has `total` or 20.',
    }),
    total: Type.Integer({ description: `Records that match, over all pages; counted up to ${totalMax}.` }),
    totalIsMinimum: Type.Optional(
      Type.Literal(true, { description: 'There are more than `total`; absent when it is exact.' }),
    ),
    totalPages: Type.Integer(),
    nextCursor: nullable(Type.String({ description: 'Null on the last page.' })),
  })
