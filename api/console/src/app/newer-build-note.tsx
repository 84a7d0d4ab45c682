import { useSession } from '../session/use-session.ts'
import { useText } from '../text/text.ts'
import { Button } from '../ui/button.tsx'
import { useHasNewerBuild } from './newer-build.ts'
import styles from './shell.module.css'
import { shellText } from './shell-text.ts'

/** Lets the person choose the moment of the reload, because it discards input. */
export function NewerBuildNote() {
  const { newer: text } = useText(shellText)
  const { kind } = useSession()
  if (!useHasNewerBuild()) return null
  return (
    <div role="status" className={styles.note}>
      <p>
        {text.lede} {(kind === 'key' || kind === 'operator') && text.signOut}
      </p>
      <Button size="small" onPress={() => location.reload()}>
        {text.reload}
      </Button>
    </div>
  )
}
