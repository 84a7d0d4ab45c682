import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext } from '@tanstack/react-router'
import { Root } from '../app/root.tsx'
import type { SessionStore } from '../session/session.ts'

export type RouterContext = { readonly queries: QueryClient; readonly session: SessionStore }

export const Route = createRootRouteWithContext<RouterContext>()({ component: Root })
