// Reads what a visitor of the status page asks for: words to search for, and the page of each long list.

/** A view of the status page. */
export interface PageQuery {
  /** As typed. */
  readonly search: string
  /** Page numbers, from 1. */
  readonly routes: number
  readonly decisions: number
  readonly resources: number
}

/** Names of the lists that have pages. */
export type PagedList = Exclude<keyof PageQuery, 'search'>

const MAX_SEARCH = 200

/** Never fails: anything that is not a page number is 1. */
export function readPageQuery(query: string): PageQuery {
  const given = new URLSearchParams(query)
  const page = (name: PagedList): number => {
    const text = given.get(name) ?? ''
    return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1
  }
  return {
    search: (given.get('q') ?? '').slice(0, MAX_SEARCH),
    routes: page('routes'),
    decisions: page('decisions'),
    resources: page('resources'),
  }
}

/** Returns the address of a view, relative to the page. */
export function addressOf({ search, ...pages }: PageQuery, anchor?: string): string {
  const query = new URLSearchParams(search === '' ? [] : [['q', search]])
  for (const [name, page] of Object.entries(pages)) if (page > 1) query.set(name, String(page))
  const text = query.toString()
  return `/${text === '' ? '' : `?${text}`}${anchor === undefined ? '' : `#${anchor}`}`
}

/** Returns the address of the view that searches for a text. */
export const searchFor = (text: string): string =>
  addressOf({ ...readPageQuery(''), search: text.slice(0, MAX_SEARCH) })

/** Texts that a search looks at; called only if there is a search. */
export type Searched = () => readonly (string | undefined)[]

/** Returns a test for texts: every word of the search must be in one of them. */
export function searchTest(search: string): (texts: Searched) => boolean {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (words.length === 0) return () => true
  return (texts) => {
    const text = texts().join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  }
}
