import { createFileRoute } from '@tanstack/react-router'
import { KeysPage } from '../../pages/keys/keys-page.tsx'

export const Route = createFileRoute('/_member/keys')({ component: KeysPage })
