import { type ComponentType, lazy } from 'react'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { useHasNewerBuild } from './newer-build.ts'
import { shellText } from './shell-text.ts'

/** A part of a page that is loaded when it is shown. The page stays if the part cannot be loaded. */
export const lazyPart = <Props extends object>(load: () => Promise<ComponentType<Props>>) =>
  lazy(async (): Promise<{ default: ComponentType<Props> }> => {
    try {
      return { default: await load() }
    } catch {
      return { default: MissingPart }
    }
  })

function MissingPart() {
  const { broken } = useText(shellText)
  // Its note says more.
  if (useHasNewerBuild()) return null
  return (
    <div role="alert">
      {broken.part}{' '}
      <Button size="small" onPress={() => location.reload()}>
        {broken.reload}
      </Button>
    </div>
  )
}
