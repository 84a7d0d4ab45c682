import { type ReactNode, useEffect } from 'react'
import styles from './page.module.css'

type PageProps = {
  readonly title: string
  /** One sentence that says what the page is for. */
  readonly lede?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** One page: sets the title of the document and moves nothing while its content loads. */
export function Page({ title, lede, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Matte`
  }, [title])
  return (
    <>
      <div className={styles.head}>
        <div>
          <h1>{title}</h1>
          {lede !== undefined && <p className={styles.lede}>{lede}</p>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </div>
      <div className={styles.content}>{children}</div>
    </>
  )
}

type CardProps = {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Lets a table or a picture reach the border. */
  readonly isFlush?: boolean
}

export const Card = ({ title, actions, children, isFlush = false }: CardProps) => (
  <section className={styles.card}>
    {(title !== undefined || actions !== undefined) && (
      <div className={styles.cardHead}>
        {title !== undefined && <h2>{title}</h2>}
        {actions}
      </div>
    )}
    <div className={isFlush ? styles.flush : styles.body}>{children}</div>
  </section>
)

export type Fact = { readonly name: string; readonly value: ReactNode }

/** Names and values of one record. */
export const Facts = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <dl className={styles.facts}>
    {facts.map(({ name, value }) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** Cards beside each other as the width allows. */
export const Grid = ({ children }: { readonly children: ReactNode }) => <div className={styles.grid}>{children}</div>

/** Controls in a row that wraps. */
export const Row = ({ children }: { readonly children: ReactNode }) => <div className={styles.row}>{children}</div>

/** Fields of a form below each other. */
export const Stack = ({ children }: { readonly children: ReactNode }) => <div className={styles.stack}>{children}</div>
