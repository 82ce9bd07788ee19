// The vendored modules under the names that the page uses. `html` makes nodes from templates; text in it is always text.

import { h, render, Fragment } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { h, render, Fragment };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId } from "./vendor/hooks.js";
export { signal, computed, effect, batch } from "./vendor/signals.js";
