import { createFileRoute } from '@tanstack/react-router'
import { KeysPage } from '../../pages/keys/keys-page.tsx'

/** `create`: the name of a key to create, which `matte login --console` fills in. */
const readCreate = ({ create }: Record<string, unknown>): { create?: string } =>
  create === undefined ? {} : { create: String(create).slice(0, 100) }

export const Route = createFileRoute('/_member/keys')({ component: KeysPage, validateSearch: readCreate })
