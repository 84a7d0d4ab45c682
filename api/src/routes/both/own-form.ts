import { endpointNotFound } from '@matte/core/webhook/endpoint/endpoint'
import { isUuid } from '../../uuid.ts'

/** An endpoint's id as rows have it. @throws MatteError NOT_FOUND when it is no UUID (D3) */
export function ownForm(id: string): string {
  if (!isUuid(id)) throw endpointNotFound()
  return id.toLowerCase()
}
