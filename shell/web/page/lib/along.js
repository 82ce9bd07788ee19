// What goes along with a prompt: images that the model sees, and skills that the agent shall use.

import { call } from "../api.js";
import { bytes, clean } from "./format.js";
import { notify } from "./parts.js";
import { html, useEffect, useId, useState } from "../vendor.js";

/** The limits of one prompt: images, bytes of each and of all, characters of a name, and skills. */
const IMAGES = 10;
const IMAGE_BYTES = 5_000_000;
const TOGETHER_BYTES = 10_000_000;
const NAME = 60;
const SKILLS = 4;

/** @typedef {{ name: string, size: number, data: string }} Image `data` is the file in base64 */

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).split(",")[1] ?? "");
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });
}

/**
 * The images with more of them; what does not fit is named and left out.
 * @param {Image[]} images @param {Iterable<File>} files
 */
export async function addImages(images, files) {
  const all = [...images];
  for (const file of files) {
    const name = file.name.slice(0, NAME) || "image";
    const together = all.reduce((sum, image) => sum + image.size, file.size);
    const problem = all.length >= IMAGES ? `${IMAGES} go with one prompt`
      : file.size > IMAGE_BYTES ? `it has ${bytes(file.size)}, and ${bytes(IMAGE_BYTES)} are the limit`
      : together > TOGETHER_BYTES ? `together they would have ${bytes(together)}, and ${bytes(TOGETHER_BYTES)} are the limit`
      : !/^image\/(png|jpeg|webp|gif)$/.test(file.type) ? "it is no PNG, JPEG, WebP or GIF" : null;
    if (problem) notify("bad", `${name} is not added: ${problem}.`, "send it with another prompt, or a smaller copy");
    else all.push({ name, size: file.size, data: await base64(file) });
  }
  return all;
}

/**
 * @param {{ id: string, images: Image[], setImages: (images: Image[]) => void, skills: string[], setSkills: (skills: string[]) => void, attach: (files: Iterable<File>) => void, disabled: boolean }} props
 */
export function Along({ id, images, setImages, skills, setSkills, attach, disabled }) {
  const field = useId();
  const [offered, setOffered] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    const controller = new AbortController();
    // Without the list a text that begins with /NAME still names a skill.
    call("skills", { params: { agent_id: id }, signal: controller.signal }).then(
      (reply) => setOffered(reply.skills.filter((/** @type {any} */ skill) => skill.standing === "offered").map((/** @type {any} */ skill) => skill.name)),
      () => {},
    );
    return () => controller.abort();
  }, [id]);
  const picked = (/** @type {any} */ event) => {
    attach([...event.target.files]);
    event.target.value = "";
  };
  const left = offered.filter((name) => !skills.includes(name));
  const without = (/** @type {any[]} */ list, /** @type {number} */ at) => list.filter((_, index) => index !== at);
  return html`<div class="along buttons"><label class="btn" for=${`${field}-images`}>Add images</label><input class="visually-hidden" id=${`${field}-images`} type="file" multiple accept="image/png,image/jpeg,image/webp,image/gif" disabled=${disabled || images.length >= IMAGES} onChange=${picked} />
    ${left.length > 0 && skills.length < SKILLS && html`<span class="choice"><label class="visually-hidden" for=${`${field}-skill`}>Add a skill</label><select id=${`${field}-skill`} disabled=${disabled} value="" onChange=${(/** @type {any} */ event) => (event.target.value && setSkills([...skills, event.target.value]), (event.target.value = ""))}><option value="">Add a skill</option>${left.map((name) => html`<option value=${name}>${clean(name)}</option>`)}</select></span>`}
    ${images.map((image, at) => html`<span key=${`${at} ${image.name}`} class="tag">${clean(image.name)} <span class="muted">${bytes(image.size)}</span> <button type="button" class="btn icon" aria-label=${`Leave out the image ${clean(image.name)}`} onClick=${() => setImages(without(images, at))}>×</button></span>`)}
    ${skills.map((name, at) => html`<span key=${name} class="tag good">skill ${clean(name)} <button type="button" class="btn icon" aria-label=${`Leave out the skill ${clean(name)}`} onClick=${() => setSkills(without(skills, at))}>×</button></span>`)}</div>`;
}
