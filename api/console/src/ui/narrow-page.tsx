import type { ReactNode } from 'react'
import styles from './narrow-page.module.css'
import { Card, Page } from './page.tsx'

type NarrowPageProps = { readonly title: string; readonly lede?: ReactNode; readonly children: ReactNode }

/** One form in the middle, such as the sign-in. */
export const NarrowPage = ({ title, lede, children }: NarrowPageProps) => (
  <div className={styles.narrow}>
    <Page title={title} lede={lede}>
      <Card>{children}</Card>
    </Page>
  </div>
)

/** Links below the button of a form. */
export const FormLinks = ({ children }: { readonly children: ReactNode }) => <p className={styles.links}>{children}</p>
