import { useSession } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { ErrorNote, Skeleton } from '../ui/states.tsx'
import { useHasNewerBuild, useReload } from './newer-build.ts'
import { shellText } from './shell-text.ts'

/** Shown when a page throws, or its code cannot be loaded. */
export function RouteError({ error }: { readonly error: unknown }) {
  const { broken, newer } = useText(shellText)
  const { kind } = useSession()
  // A key and a token of an operator are only in the memory of this page.
  const isReloading = useReload(error, kind !== 'key' && kind !== 'operator')
  const hasNewerBuild = useHasNewerBuild()
  if (isReloading) return <Skeleton lines={6} />
  // The note above the page has the button.
  if (hasNewerBuild) return <Page title={newer.title}>{null}</Page>
  return (
    <Page title={broken.title}>
      <ErrorNote error={error} />
      <div>
        <Button onPress={() => location.reload()}>{broken.reload}</Button>
      </div>
    </Page>
  )
}
