// Messages in English and German. A page keeps its messages beside it: `const text = defineText({ en, de })`.
import { createContext, useContext } from 'react'

export const locales = ['en', 'de'] as const
export type Locale = (typeof locales)[number]

/** A message is a string, or a function of its values. */
type Messages = { readonly [name: string]: string | ((...values: never[]) => string) | Messages }

/** The same names, and functions of the same values. */
type Translated<M> = {
  readonly [Name in keyof M]: M[Name] extends (...values: infer Values) => string
    ? (...values: Values) => string
    : M[Name] extends string
      ? string
      : Translated<M[Name]>
}

export type Text<M> = { readonly en: M; readonly de: Translated<M> }

export const defineText = <const M extends Messages>(text: Text<M>): Text<M> => text

/** Such as `1 photo` and `2 photos`: both languages have these two forms. `count` is a number as the page shows it. */
export const counted = (count: string, one: string, many: string): string => `${count} ${count === '1' ? one : many}`

export const LocaleContext = createContext<Locale>('en')

export const useLocale = (): Locale => useContext(LocaleContext)

/** Messages in the language of the page. */
export const useText = <M>(text: Text<M>): Translated<M> => text[useLocale()] as Translated<M>

export const isLocale = (name: string): name is Locale => locales.some((locale) => locale === name)

/** The first language of the browser that the console has. */
export const browserLocale = (languages: readonly string[]): Locale =>
  languages.map((language) => language.slice(0, 2).toLowerCase()).find(isLocale) ?? 'en'
