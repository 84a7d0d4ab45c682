import { Type } from 'typebox'
import { isUuid } from '../../../uuid.ts'

export const tags = ['Teams']

export const teamParams = Type.Object({ teamId: Type.String() })

/** An id as rows have it. @throws what `notFound` makes when it is no UUID (D3) */
export function ownForm(id: string, notFound: () => Error): string {
  if (!isUuid(id)) throw notFound()
  return id.toLowerCase()
}
