import { useFormat } from '../../text/format.ts'
import { useText } from '../../text/text.ts'
import styles from './batches.module.css'
import { batchesText } from './batches-text.ts'
import type { Reason } from './run-progress.ts'

/** Names that are shown per reason. */
const namesMax = 50

/** Failures by reason; the photos of each are behind a fold. */
export function Failures({ reasons }: { readonly reasons: readonly Reason[] }) {
  const text = useText(batchesText)
  const format = useFormat()
  return (
    <div className={styles.failures}>
      <h3>{text.failures}</h3>
      {reasons.map(({ code, message, paths }) => (
        <details key={`${code} ${message}`}>
          <summary>
            <strong>{format.number(paths.length)}</strong> · {message} <a href={`/docs/errors/${code}`}>{code}</a>
          </summary>
          <ul>
            {paths.slice(0, namesMax).map((path) => (
              <li key={path}>{path}</li>
            ))}
            {paths.length > namesMax && <li>{text.andMore(format.number(paths.length - namesMax))}</li>}
          </ul>
        </details>
      ))}
    </div>
  )
}
