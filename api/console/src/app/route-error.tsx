import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { ErrorNote } from '../ui/states.tsx'
import { shellText } from './shell-text.ts'

/** Shown when a page throws, or its code cannot be loaded after an upgrade of the service. */
export function RouteError({ error }: { readonly error: unknown }) {
  const { broken } = useText(shellText)
  return (
    <Page title={broken.title}>
      <ErrorNote error={error} />
      <div>
        <Button onPress={() => location.reload()}>{broken.reload}</Button>
      </div>
    </Page>
  )
}
