import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, ReactNode, Ref } from 'react'
import { Button as AriaButton, type ButtonProps as AriaProps } from 'react-aria-components'
import styles from './button.module.css'

type Look = {
  /** `primary` once per view; `danger` for what cannot be undone. Default: `plain`. */
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger' | undefined
  readonly size?: 'small' | 'medium' | undefined
}

const classOf = ({ look = 'plain', size = 'medium' }: Look): string =>
  `${styles.button} ${styles[look]} ${styles[size]}`

type ButtonProps = Omit<AriaProps, 'className' | 'style' | 'children'> & Look & { readonly children: ReactNode }

/** While `isPending`, a press does nothing and assistive technology announces the work. */
export const Button = ({ look, size, ...props }: ButtonProps) => (
  <AriaButton {...props} className={classOf({ look, size })} />
)

type AnchorProps = AnchorHTMLAttributes<HTMLAnchorElement> & Look & { readonly ref?: Ref<HTMLAnchorElement> }

const Anchor = ({ look, size, ...props }: AnchorProps) => <a {...props} className={classOf({ look, size })} />

/** A link that looks like a button. */
export const LinkButton = createLink(Anchor)
/** For targets outside the console, such as a download. */
export const AnchorButton = Anchor

type IconButtonProps = Omit<AriaProps, 'className' | 'style' | 'children'> & {
  /** Its name for assistive technology, also shown as a title. */
  readonly label: string
  readonly children: ReactNode
}

export const IconButton = ({ label, ...props }: IconButtonProps) => (
  <AriaButton {...props} aria-label={label} className={`${styles.button} ${styles.quiet} ${styles.icon}`} />
)
