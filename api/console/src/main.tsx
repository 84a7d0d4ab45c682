import { QueryClientProvider } from '@tanstack/react-query'
import { createRouter, RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { followBuilds } from './app/newer-build.ts'
import { NotFoundPage } from './app/not-found-page.tsx'
import { createQueries, followSession } from './app/queries.ts'
import { RouteError } from './app/route-error.tsx'
import { startTheme } from './app/theme.ts'
import { routeTree } from './routeTree.gen.ts'
import { takeLinkValues } from './session/link-values.ts'
import { createSession, identityOf } from './session/session.ts'
import { createTaskChanges, TaskChangesContext } from './session/task-changes.ts'
import { baseUrl, SessionContext } from './session/use-session.ts'
import './ui/base.css'

takeLinkValues()
startTheme()
followBuilds()
const queries = createQueries()
const session = createSession(baseUrl())
followSession(queries, session)
const changes = createTaskChanges(session.app)
let identity = identityOf(session.get())
session.subscribe(() => {
  const next = identityOf(session.get())
  if (next !== identity) changes.reset()
  identity = next
})
void session.start()

const router = createRouter({
  routeTree,
  context: { queries, session },
  defaultPreload: 'intent',
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  defaultNotFoundComponent: NotFoundPage,
  defaultErrorComponent: RouteError,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root element.')
createRoot(root).render(
  <StrictMode>
    <SessionContext value={session}>
      <TaskChangesContext value={changes}>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </TaskChangesContext>
    </SessionContext>
  </StrictMode>,
)
