import { useText } from '../../text/text.ts'
import { operatorText } from './operator-text.ts'

/** Link to the page of the documentation that says what to do. */
export function RunbookLink({ name }: { readonly name: string | null }) {
  const text = useText(operatorText)
  if (name === null) return null
  return (
    <a href={`/docs/runbooks/${name}`} aria-label={text.runbookOf(name)}>
      {text.runbook}
    </a>
  )
}
