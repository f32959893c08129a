// Sections of the status page: a heading, a note, keyed items and a foot. Live updates compare them part by part.

import { Html, markup } from '../html.js'
import { addressOf, type PagedList, type PageQuery } from './page-query.js'

/** A part of a section that is replaced as a whole when it changes. */
export interface Item {
  /** Unique within its section. */
  readonly key: string
  /** One element, whose data-key is the key. */
  readonly html: Html
}

/** A section of the page. */
export interface Section {
  readonly id: string
  readonly title: string
  /** Column heads of a table; absent: a list. */
  readonly heads?: readonly string[]
  /** Beside the title: counts, or that all is well. */
  readonly note: Html
  /** Set if screen readers say the note when it changes. */
  readonly isAnnounced?: true
  readonly items: readonly Item[]
  /** Below the items: page links, or why there are none. */
  readonly foot: Html
}

/** HTML without content. */
export const NO_HTML = new Html('')

/** Returns the HTML of a section. */
export function sectionHtml(section: Section): Html {
  const { id, title, heads, note, items, foot, isAnnounced } = section
  const label = `${id}-title`
  const all = items.map(({ html }) => html)
  const list =
    heads === undefined
      ? markup`<ul class="items" data-items aria-labelledby="${label}">${all}</ul>`
      : markup`<table role="table" aria-labelledby="${label}">
<thead role="rowgroup"><tr role="row">${heads.map((head) => markup`<th role="columnheader" scope="col">${head}</th>`)}</tr></thead>
<tbody role="rowgroup" data-items>${all}</tbody></table>`
  return markup`<section id="${id}" aria-labelledby="${label}">
<div class="head"><h2 id="${label}">${title}</h2><div class="note" data-note${isAnnounced === true ? new Html(' role="status"') : ''}>${note}</div></div>
${list}
<div class="foot" data-foot>${foot}</div>
</section>`
}

/** Returns a table row whose cells are labelled with the column heads where there is no room for columns. */
export const row = (key: string, heads: readonly string[], cells: readonly Html[]): Item => ({
  key,
  html: markup`<tr role="row" data-key="${key}">${cells.map(
    (cell, index) =>
      markup`<td role="cell" data-head="${heads[index] ?? ''}"><div>${cell}</div></td>`,
  )}</tr>`,
})

/** How urgent something is. Each has a colour and a shape. */
export type Level = 'bad' | 'warn' | 'good' | 'dim'

const SHAPES: Readonly<Record<Level, string>> = { bad: '▲', warn: '◆', good: '●', dim: '○' }

/** Returns a word with the colour and shape of a level. */
export const mark = (level: Level, word: string): Html =>
  markup`<span class="mark ${level}"><span aria-hidden="true">${SHAPES[level]}</span> ${word}</span>`

/** Returns a word as a chip without a colour. */
export const plainChip = (word: string): Html => markup`<span class="chip">${word}</span>`

/** Returns code that may break anywhere. */
export const code = (text: string): Html => markup`<code>${text}</code>`

/** Returns a time that scripts may show as an age. at: ISO 8601. */
export const time = (at: string): Html =>
  markup`<time datetime="${at}" title="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time>`

/** The elements of one page, and what to show below them. */
export interface Paged<Element> {
  readonly shown: readonly Element[]
  readonly foot: Html
}

interface PagedOptions {
  readonly list: PagedList
  readonly size: number
  readonly query: PageQuery
  /** What the elements are, in the plural. */
  readonly nouns: string
  /** Shown if there are none at all. */
  readonly empty: string
}

/** Returns the page that the query asks for, or the last one if there are fewer. */
export function paged<Element>(
  all: readonly Element[],
  { list, size, query, nouns, empty }: PagedOptions,
): Paged<Element> {
  const searched = query.search !== ''
  if (all.length === 0)
    return { shown: [], foot: markup`<p>${searched ? `No ${nouns} match the search.` : empty}</p>` }
  const pages = Math.ceil(all.length / size)
  const page = Math.min(query[list], pages)
  const from = (page - 1) * size
  const shown = all.slice(from, from + size)
  if (pages === 1) return { shown, foot: NO_HTML }
  const link = (to: number, word: string): Html =>
    to < 1 || to > pages
      ? markup`<span class="off">${word}</span>`
      : markup`<a data-view href="${addressOf({ ...query, [list]: to }, list)}">${word}</a>`
  return {
    shown,
    foot: markup`<nav class="pages" aria-label="Pages of ${nouns}">${link(page - 1, 'Previous')}
<span>${from + 1} to ${from + shown.length} of ${all.length} ${nouns}</span>${link(page + 1, 'Next')}</nav>`,
  }
}
